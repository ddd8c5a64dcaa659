import { shardKills } from '../scale/shard-kills.ts';

shardKills({ lines: 100_000, kills: 1000 });
