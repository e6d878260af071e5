-- Drafts that a person or a program wrote. They have ids of their own, as there may be several to one reply or none to
-- answer. Processes of the release before neither list nor decide them.
alter table ai_drafts
  add column source text not null default 'copilot' check (source in ('copilot', 'dashboard', 'api')),
  add column answered_reply_id object_id, -- of a written draft; null: it answers no reply
  add column lead_id object_id, -- of a written draft
  -- Replies are deleted with their workspace only.
  drop constraint ai_drafts_workspace_id_reply_id_fkey;
