import { chmod, mkdir, readdir } from 'node:fs/promises';
import Conf from 'conf';
import { Failure } from '../errors.ts';
import { fileReason } from '../files/reason.ts';
import { utf8 } from '../json/utf8.ts';
import type { Profiles } from './profile.ts';
import { readProfiles, storeFile } from './read.ts';

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/**
 * Changes the stored profiles to what `change` makes of them; file and folder are for the owner's eyes only, whatever
 * the umask. Throws Failure `local` where the store is broken or cannot be written; then nothing has changed.
 */
export async function changeProfiles(folder: string, change: (profiles: Profiles) => Profiles): Promise<void> {
  const next = change(await readProfiles(folder));
  try {
    await prepareFolder(folder);
    const conf = new Conf<Record<string, unknown>>({
      cwd: folder,
      configName: 'config',
      configFileMode: FILE_MODE,
      // A dot in the name of a profile is part of the name.
      accessPropertiesByDotNotation: false,
      deserialize: (text) => JSON.parse(utf8(Buffer.from(text)).toString()),
    });
    conf.store = { ...next };
    await chmod(conf.path, FILE_MODE);
  } catch (error) {
    throw new Failure('local', `cannot write ${storeFile(folder)}: ${fileReason(error)}`);
  }
}

// A folder that holds other things is not ours to close: SVC_CONFIG_DIR may be somebody's home or /tmp.
async function prepareFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
  const others = (await readdir(folder)).filter((name) => !name.startsWith('config.json'));
  if (others.length === 0) await chmod(folder, FOLDER_MODE);
}
