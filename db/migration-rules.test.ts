import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { unsafeStatements } from './migration-rules.ts';

const FOLDER = new URL('migrations/', import.meta.url);
/** The newest migration of the schema of version 1.0, which no process uses while it is created. */
const BASELINE = '0019_test_mode.sql';

/** It was released as it is: processes of 1.0 publish no events after it (docs/scaling.md). */
const ACCEPTED = '0102_events_by_workspace.sql';

const newer = readdirSync(FOLDER).filter((name) => name > BASELINE && name !== ACCEPTED);

const git = (...args: string[]): string => {
  const { status, stdout, stderr } = spawnSync('git', args, {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    encoding: 'utf8',
  });
  // `git grep` exits with 1 if it finds nothing.
  if (status !== 0 && !(args[0] === 'grep' && status === 1))
    throw new Error(`git ${args.join(' ')}: ${stderr}`);
  return stdout.trim();
};

/** The source of the newest release, as `npm run prove -- upgrade` finds it; needs its commit, so no shallow clone. */
const release = git('log', '-1', '--format=%H', '--grep', '^chore: release [0-9]');
const isUsedByRelease = (name: string): boolean =>
  git('grep', '-l', '-i', '-w', name, release, '--', '*.ts', ':!db/migrations', ':!**/*.test.ts') !== '';

const always = (): boolean => true;
const never = (): boolean => false;

describe('a migration', () => {
  it('leaves the processes of the release before what they read and write', () => {
    const found = newer.flatMap((name) =>
      unsafeStatements(readFileSync(new URL(name, FOLDER), 'utf8'), isUsedByRelease).map(
        (problem) => `${name}: ${problem}`,
      ),
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
    expect(unsafeStatements(statement, always)).toHaveLength(1);
    expect(unsafeStatements(statement, never)).toHaveLength(1);
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
    expect(unsafeStatements(statement, never)).toEqual([]);
  });

  it.each([
    '-- old processes: nothing reads it\nalter table leads drop column notes;',
    '-- old processes: nothing uses it\ndrop table if exists notes;',
    '-- old processes: a view of the old name follows\nalter table notes rename to remarks;',
    '-- old processes: text is as good\nalter table leads alter column notes type varchar(10);',
  ])('may %s, but only if the release does not name it', (statement) => {
    expect(unsafeStatements(statement, never)).toEqual([]);
    expect(unsafeStatements(statement, (name) => name === 'notes')).toHaveLength(1);
  });

  it('is compared with the source of the newest release', () => {
    expect(isUsedByRelease('messages')).toBe(true);
    expect(isUsedByRelease('drip_buffer')).toBe(true);
    expect(isUsedByRelease('no_such_table')).toBe(false);
  });
});
