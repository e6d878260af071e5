-- Partitions are created and dropped through one connection to each node: several would wait for each other's locks.
alter function keep_partitions set citus.multi_shard_modify_mode = 'sequential';
