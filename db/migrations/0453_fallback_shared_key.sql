-- The SharedKey with which the account of the fallback signs its callbacks.
alter table fallback_configs add column shared_key_sealed text;

-- In place of `callback_lines`, which the release before uses: the lines that carriers report about, with the accounts whose secrets may have
-- signed the report. On a cluster the definition differs, with a statement for each workspace (db/distribution).
create function lines_of_callbacks(of_lines text[]) returns table (
    id text, workspace_id text, carrier text, carrier_config jsonb, has_moved boolean, provider text, account_sid text,
    auth_token_sealed text, shared_key_sealed text, from_number text, messaging_service_sid text
  ) language plpgsql stable as $$
#variable_conflict use_column
begin
  return query
    select l.id::text, l.workspace_id, l.carrier, l.carrier_config, exists (select from line_moves m where m.line_id = l.id),
      f.provider, f.account_sid, f.auth_token_sealed, f.shared_key_sealed, f.from_number, f.messaging_service_sid
    from unnest(of_lines) asked (id)
    join lookups o on o.kind = 'line' and o.key = asked.id
    join lines l on l.workspace_id = o.workspace_id and l.id = asked.id
    left join fallback_configs f on f.workspace_id = l.workspace_id;
end $$;
