import { hashText } from './hash-text.ts';

const WORDS = [
  'amber',
  'birch',
  'cloud',
  'delta',
  'ember',
  'field',
  'grove',
  'harbor',
  'island',
  'juniper',
  'kettle',
  'lantern',
  'meadow',
  'north',
  'orchard',
  'pebble',
  'quarry',
  'river',
  'stone',
  'timber',
  'upland',
  'valley',
  'willow',
  'yonder',
  'zephyr',
] as const;

/** The word at a place of a text that a seed stands for. */
export function wordAt(seed: string, position: number): string {
  return WORDS[hashText(`${seed}#${position}`) % WORDS.length] ?? 'amber';
}
