import { shardKills, shardStops } from '../scale/shard-kills.ts';

shardKills({ lines: 100_000, kills: 1000 });
shardStops({ lines: 20_000, stopped: [1, 3, 4, 6, 8] });
