-- When somebody hid the first steps of the workspace. Workspaces from before have taken theirs; new ones show them.
alter table workspaces add column setup_dismissed_at timestamptz default now();
-- old processes: the workspaces that they insert show the first steps, as they should
alter table workspaces alter column setup_dismissed_at drop default;
