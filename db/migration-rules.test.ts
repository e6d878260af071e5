import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { unsafeStatements } from './migration-rules.ts';

const FOLDER = new URL('migrations/', import.meta.url);
/** The newest migration of the schema of version 1.0, which no process uses while it is created. */
const BASELINE = '0019_test_mode.sql';

const newer = readdirSync(FOLDER).filter((name) => name > BASELINE);

describe('a migration', () => {
  it('leaves the processes of the release before what they read and write', () => {
    const found = newer.flatMap((name) =>
      unsafeStatements(readFileSync(new URL(name, FOLDER), 'utf8')).map((problem) => `${name}: ${problem}`),
    );
    expect(found).toEqual([]);
  });

  it.each([
    'drop table calls;',
    'drop function if exists leads_search(text);',
    'alter table leads\n  drop column notes;',
    'alter table leads rename column notes to remarks;',
    'alter table leads rename to contacts;',
    'alter table leads alter column notes type varchar(10);',
    'alter table leads alter column notes set not null;',
    'alter table leads alter column notes drop default;',
    'alter table leads add column rank int not null;',
    "alter table leads add constraint named check (first_name <> '') not valid;",
    '-- no transaction\ncreate unique index concurrently leads_phone on leads (phone);',
    'revoke update on leads from linepace_tenant;',
    'create trigger check_lead before insert on leads for each row execute function check_lead();',
  ])('must not %s', (statement) => {
    expect(unsafeStatements(statement)).toHaveLength(1);
  });

  it.each([
    'create table ranks (id text primary key); create unique index ranks_id on ranks (id);\nrevoke update on ranks from linepace_tenant;',
    'alter table leads add column rank int;',
    "alter table leads add column rank text not null default '';",
    'create index leads_rank on leads (rank);',
    'drop index leads_rank;',
    'create or replace function f() returns int language sql as $$ select 1; drop table calls; $$;',
    "update leads set notes = '' where notes is null;",
    '-- old processes: none of the release before reads it, since 1.4 nothing does\nalter table leads drop column notes;',
  ])('may %s', (statement) => {
    expect(unsafeStatements(statement)).toEqual([]);
  });
});
