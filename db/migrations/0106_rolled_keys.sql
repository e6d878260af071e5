-- When a key was rolled. Its expiry is the end of the overlap since then, and no longer its own.
alter table workspace_keys add column rolled_at timestamptz;
