-- When the key was rolled. From then on, `expires_at` is the end of the overlap.
alter table workspace_keys add column rolled_at timestamptz;
