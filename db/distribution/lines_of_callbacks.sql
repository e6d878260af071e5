-- A node that is down concerns its own lines alone.
create or replace function lines_of_callbacks(of_lines text[]) returns table (
  id text, workspace_id text, carrier text, carrier_config jsonb, has_moved boolean, provider text, account_sid text,
  auth_token_sealed text, shared_key_sealed text, from_number text, messaging_service_sid text
) language plpgsql stable as $$
#variable_conflict use_column
declare
  home record;
begin
  for home in
    select o.workspace_id, array_agg(o.key) lines from lookups o where o.kind = 'line' and o.key = any(of_lines) group by 1
  loop
    return query
      select l.id::text, l.workspace_id, l.carrier, l.carrier_config, exists (select from line_moves m where m.line_id = l.id),
        f.provider, f.account_sid, f.auth_token_sealed, f.shared_key_sealed, f.from_number, f.messaging_service_sid
      from lines l left join fallback_configs f on f.workspace_id = home.workspace_id
      where l.workspace_id = home.workspace_id and l.id = any(home.lines);
  end loop;
end $$;
