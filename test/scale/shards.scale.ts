import { shardKills } from './shard-kills.ts';

shardKills({ lines: 2000, kills: 16 });
