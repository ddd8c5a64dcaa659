import type { OperationOptions } from '../client/request-flags.ts';
import { type BatchSettingOptions, settingFlag } from '../config/settings.ts';
import { type FlagList, flagGroup, joinFlags, type Options } from '../flag.ts';

// Apart from the options, so that help and completion load nothing else of batches.

const batchForms = {
  '--batch <file>': {
    summary: 'Send each line of a JSONL file as a request; - is stdin; flags fill in fields that a line omits',
  },
  '--rows <file>': {
    summary:
      'Send a request for each row of a CSV, TSV or JSONL file, or each {{line}} of a .txt file; in flags, {{column}} is its text, {{column:json}} a JSON value, {{a.b[0]}} a nested one',
    conflicts: ['batch'],
  },
  '--delimiter <character>': { summary: 'What separates the cells of a table', default: 'found in the header' },
  '--id-column <name>': 'The column with the custom_id of each row',
  '--limit <n>': { summary: 'Send only the first n lines', conflicts: ['sample'] },
  '--sample <n>': 'Send n lines chosen at random; a larger n continues a smaller one with --resume',
  '--sample-seed <text>': { summary: 'Choose another sample', default: '0' },
  '--max-total-tokens <n>': 'Stop once the responses used n tokens',
  '--max-cost <n>': 'Stop once the responses cost n',
  '--concurrency <n|auto>': {
    summary: 'Maximum concurrent requests, fewer when the service is overloaded; auto finds what is fastest',
    default: 'auto',
  },
  '--rate <n/s>': 'Maximum rate: 20/s or 100/m',
  '--token-rate <n/m>': 'Maximum rate of prompt and completion tokens: 100000/m',
  '--resume': 'Continue the run in the -o file: send lines without a result, and failed lines that were not applied',
  '--retry-unknown': 'With --resume, also send lines whose outcome is unknown',
  '--accept-changes': 'With --resume, send lines that changed, and accept other flags or another base URL',
  '--take-over <duration>':
    'With --resume, continue a batch whose machine died: its lock was not renewed for this time, such as 2m',
  '--max-outage <duration>': {
    summary: 'How long to wait while no connection can be made; 0 fails lines at once',
    default: '5m',
  },
  '--fail-fast': 'Stop reading lines after the first failure',
  '--max-failures <n|n%>':
    'Stop reading lines after more than n failures of this run, or when over n% of its lines failed (after at least 20)',
  '--max-spool <size>': {
    summary: 'Largest copy on disk of input that cannot be read twice, such as 20G',
    default: '10G, or half of the free space',
  },
  '--ordered': 'Write the results in the order of the lines',
} as const;

export const batchFlags = joinFlags(flagGroup('Batch', batchForms), settingFlags());

function settingFlags(): FlagList<BatchSettingOptions> {
  return [settingFlag('price_prompt'), settingFlag('price_completion'), settingFlag('shard')];
}

export const promptFlags = flagGroup('Batch', { '--prompt <text>': 'The prompt of each row of --rows' });

export type BatchFlagOptions = Options<typeof batchForms & { '--prompt <text>': '' }> & BatchSettingOptions;

/** The options of a request, alone or in a batch. */
export type RequestOptions = OperationOptions & BatchFlagOptions & { readonly errorFormat: string | undefined };
