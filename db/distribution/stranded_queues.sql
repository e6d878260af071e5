-- A recursive query has to be of one workspace.
create or replace function stranded_queues() returns table (workspace_id text, line_id text) language plpgsql stable as $$
#variable_conflict use_column
declare
  workspace text;
begin
  for workspace in select id from workspaces loop
    return query
      with recursive queues as (
        select '' collate "C" line_id
        union all
        select (select min(m.line_id) from messages m
          where m.workspace_id = workspace and m.line_id > q.line_id
            and (m.status in ('pending', 'scheduled') or m.fallback_sms = 'due'))
        from queues q where q.line_id is not null
      )
      select workspace, q.line_id from queues q
      where q.line_id <> '' and not exists (select from lines l where l.workspace_id = workspace and l.id = q.line_id);
  end loop;
end $$;
