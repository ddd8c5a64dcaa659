import { shardKills, shardStops } from './shard-kills.ts';

shardKills({ lines: 2000, kills: 16 });
shardStops({ lines: 2000, stopped: [2, 5] });
