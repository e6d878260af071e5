-- Replies of which the rules cannot tell whether they ask to be left alone. The model of the copilot is asked, and its answer
-- is kept. A suspicion of one that it has not answered yet is open as well: campaigns wait.
alter table opt_out_suspicions
  add column certainty text not null default 'clear',
  add column answered_at timestamptz,
  add column model text,
  add column verdict text,
  add column confidence real,
  add column reason text,
  add column model_error text,
  add column prompt_tokens integer,
  add column completion_tokens integer;
create index opt_out_suspicions_awaited on opt_out_suspicions (workspace_id, id)
  where status = 'open' and certainty = 'doubtful' and answered_at is null;
