import type pg from 'pg';

/** Tables that belong to no workspace, and why. All others are tenant tables. */
const SYSTEM_TABLES: Record<string, string> = {
  agencies: 'an agency has many workspaces',
  agency_audit_log: 'belongs to an agency',
  agency_idempotency_keys: 'belong to an agency',
  agency_invitations: 'belong to an agency',
  agency_mails: 'belong to an agency',
  agency_keys: 'belong to an agency, and are looked up before a tenant is known',
  agency_members: 'belong to an agency',
  agency_suppressions: 'belong to an agency; its clients are told of matches alone',
  console_codes: 'are looked up before a tenant is known',
  event_streams: 'are counted by key',
  hash_keys: 'belong to the whole installation',
  key_canaries: 'belong to the whole installation',
  line_moves: 'concern two workspaces',
  mail_suppressions: 'hold for invitations of all tenants',
  migrations: 'the record of the schema itself',
  passkey_challenges: 'are looked up before a tenant is known',
  passkeys: 'belong to a person, who may sign in to many workspaces',
  polled_kinds: 'belong to the whole installation',
  provider_organizations: 'are looked up before a tenant is known',
  rate_limits: 'count callers before a tenant is known',
  recorded_runs: 'belong to the whole installation',
  setup_codes: 'belong to the whole installation',
  sign_in_links: 'are looked up before a tenant is known',
  temporal_namespaces: 'belong to the whole installation',
  user_identities: 'belong to a person',
  set_aside: 'is what operators of the installation see and settle',
  user_sessions: 'belong to a person, who may sign in to many workspaces',
  users: 'a person may belong to many workspaces',
};

/**
 * Keys of tenant tables that do not begin with the workspace, and why: a primary key or unique index by its name, a foreign key
 * as `table → table`. A table can be distributed by workspace if it has none.
 */
const OTHER_KEYS: Record<string, string> = {
  lookups_pkey: 'find the workspace of what is named without it',
  workspaces_live: 'a workspace has one twin; all workspaces know each other',
  workspaces_payment_subscription: 'the payment provider names a subscription only',
  'workspaces → agencies': 'an agency has many workspaces',
  'workspaces → users': 'a person may belong to many workspaces',
  'workspaces → workspaces': 'a twin has another workspace',
  'workspace_members → users': 'a person may belong to many workspaces',
};

/** Tables whose rows cannot be changed, and are deleted only by retention or the erasure of a contact. */
const APPEND_ONLY = ['consents', 'audit_log', 'agency_audit_log', 'record_seals'];

/** Functions that run with the owner's rights, and why. */
const OWNERS_FUNCTIONS: Record<string, string> = {
  keep_partitions: 'only the owner of a table can create and drop its partitions',
  note_workspace_sizes: 'only the owner of a table can write its statistics',
};

/** Tables read by functions that show tenants more than their own rows, and the table in which one counts storage. */
const DEFINER_READS = [
  'agencies',
  'agency_suppressions',
  'leads',
  'list_addresses',
  'users',
  'workspace_members',
  'workspaces',
];
const DEFINER_COUNTS = 'storage_usage';
/** A ledger that tenants only add to; a function removes what it says of an erased contact. */
const DEFINER_ERASES = 'consents';

/** Tables in which a batch of bulk intake, which serves several workspaces, is bounded to these. */
const INTAKE_TABLES = ['drip_buffer', 'drip_claims', 'idempotency_keys'];

const LOGINS = ['linepace_tenant', 'linepace_system', 'linepace_definer'] as const;
type Login = (typeof LOGINS)[number];

interface Relation {
  name: string;
  kind: 'table' | 'partition' | 'view';
  secured: boolean;
  forced: boolean;
  columns: string[];
  hasPrimaryKey: boolean;
  /** Primary, unique and foreign keys. */
  keys: Key[];
  /** `name [restrictive] role command using check`. */
  policies: string[];
  /** The privileges of each role except the owner. */
  privileges: Record<string, string[]>;
}

interface Key {
  /** For a foreign key: `table → table`. */
  name: string;
  column: string;
  /** The column to which the first one refers; null: it is no foreign key. */
  refersTo: string | null;
}

interface Routine {
  name: string;
  owner: string;
  securityDefiner: boolean;
  hasSearchPath: boolean;
  isPublic: boolean;
}

/** @returns the problems of a database's row-level security, keys and grants; [] if there are none. */
export async function problemsOf(client: pg.Client): Promise<string[]> {
  const { rows: relations } = await client.query<Relation>(RELATIONS);
  const { rows: routines } = await client.query<Routine>(ROUTINES);
  const tables = relations.filter(({ kind }) => kind === 'table').map(({ name }) => name);
  return [
    ...relations.flatMap((relation) =>
      problemsOfRelation(relation).map((problem) => `${relation.name} ${problem}`),
    ),
    ...routines.flatMap((routine) =>
      problemsOfRoutine(routine).map((problem) => `${routine.name}() ${problem}`),
    ),
    ...Object.keys(SYSTEM_TABLES)
      .filter((name) => !tables.includes(name))
      .map((name) => `${name} is listed as an exception but does not exist`),
    ...Object.keys(OTHER_KEYS)
      .filter((name) => !relations.some(({ keys }) => keys.some((key) => key.name === name)))
      .map((name) => `${name} is listed as an exception but does not exist`),
  ];
}

function problemsOfRelation(relation: Relation): string[] {
  if (relation.kind === 'view') return grantProblems(relation, {});
  // The parent's policies do not apply to a partition that is queried directly.
  if (relation.kind === 'partition') return [...forceProblems(relation), ...grantProblems(relation, {})];
  if (Object.hasOwn(SYSTEM_TABLES, relation.name)) {
    return grantProblems(relation, {
      linepace_system: systemPrivileges(relation),
      linepace_definer: definerPrivileges(relation),
    });
  }
  return [
    ...keyProblems(relation),
    ...securityProblems(relation),
    ...grantProblems(relation, {
      linepace_tenant: APPEND_ONLY.includes(relation.name) ? ['SELECT', 'INSERT'] : ROWS,
      linepace_system: systemPrivileges(relation),
      linepace_definer: definerPrivileges(relation),
    }),
  ];
}

const definerPrivileges = ({ name }: Relation): string[] => {
  if (name === DEFINER_COUNTS) return ['SELECT', 'INSERT', 'UPDATE'];
  if (name === DEFINER_ERASES) return ['SELECT', 'DELETE'];
  return DEFINER_READS.includes(name) ? ['SELECT'] : [];
};

const systemPrivileges = ({ name }: Relation): string[] =>
  APPEND_ONLY.includes(name) ? ['SELECT', 'INSERT', 'DELETE'] : ROWS;

const ROWS = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'];

const workspaceColumn = ({ name }: Relation): string => (name === 'workspaces' ? 'id' : 'workspace_id');

function keyProblems(relation: Relation): string[] {
  const column = workspaceColumn(relation);
  if (!relation.columns.includes(column)) return [`has no column ${column}`];
  return [
    ...(relation.hasPrimaryKey ? [] : ['has no primary key']),
    ...relation.keys
      .filter(({ name, ...key }) => !Object.hasOwn(OTHER_KEYS, name) && !beginsWith(column, key))
      .map(({ name }) => `has the key ${name} that does not begin with ${column}`),
  ];
}

/** A foreign key refers to the workspace itself, or to a row of the same workspace. */
const beginsWith = (workspace: string, { column, refersTo }: Omit<Key, 'name'>): boolean =>
  column === workspace &&
  (refersTo === null || refersTo === 'workspaces.id' || refersTo.endsWith(`.${workspace}`));

const forceProblems = ({ secured, forced }: Relation): string[] => [
  ...(secured ? [] : ['has no row-level security']),
  ...(forced ? [] : ['does not force row-level security on its owner']),
];

function definerPolicy(name: string): string {
  if (name === DEFINER_COUNTS) return 'ALL true true';
  return name === DEFINER_ERASES ? 'ALL true -' : 'SELECT true -';
}

function securityProblems(relation: Relation): string[] {
  const { name, policies } = relation;
  const own = `(${workspaceColumn({ name } as Relation)} = current_workspace())`;
  const wanted = new Set([
    `tenant linepace_tenant ALL ${own} ${own}`,
    'system linepace_system ALL true true',
    `owner owner ALL (current_setting('app.migrating'::text, true) = 'on'::text) -`,
    ...(INTAKE_TABLES.includes(name) ? [`intake restrictive linepace_system ALL ${OF_INTAKE} -`] : []),
  ]);
  const definer = `definer linepace_definer ${definerPolicy(name)}`;
  return [
    ...forceProblems(relation),
    ...[...wanted]
      .filter((policy) => !policies.includes(policy))
      .map((policy) => `lacks the policy ${policy}`),
    ...policies
      .filter((policy) => !wanted.has(policy) && policy !== definer)
      .map((policy) => `has the policy ${policy}`),
  ];
}

const OF_INTAKE =
  '((( SELECT intake_workspaces() AS intake_workspaces) IS NULL) OR (workspace_id = ANY (( SELECT intake_workspaces() AS intake_workspaces)::text[])))';

const grantProblems = ({ privileges }: Relation, allowed: Partial<Record<Login, string[]>>): string[] =>
  Object.entries(privileges).flatMap(([role, granted]) =>
    granted
      .filter((privilege) => !(allowed[role as Login] ?? []).includes(privilege))
      .map((privilege) => `grants ${privilege} to ${role}`),
  );

function problemsOfRoutine(routine: Routine): string[] {
  if (!routine.securityDefiner) return [];
  return [
    ...(routine.owner === 'linepace_definer' || Object.hasOwn(OWNERS_FUNCTIONS, routine.name)
      ? []
      : [`runs with the rights of ${routine.owner}`]),
    ...(routine.hasSearchPath ? [] : ['runs with the search path of its caller']),
    ...(routine.isPublic ? ['may be called by everybody'] : []),
  ];
}

const RELATIONS = `
  select c.relname as name,
    case when c.relispartition then 'partition' when c.relkind in ('v', 'm') then 'view' else 'table' end as kind,
    c.relrowsecurity as secured, c.relforcerowsecurity as forced,
    array(select attname::text from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped) as columns,
    exists (select from pg_index where indrelid = c.oid and indisprimary) as "hasPrimaryKey",
    coalesce((
      select jsonb_agg(jsonb_build_object('name', key.name, 'column', a.attname, 'refersTo', key.refers_to)) from (
        select i.indexrelid::regclass::text as name, i.indkey[0] as first, null as refers_to
        from pg_index i where i.indrelid = c.oid and i.indisunique
        union all
        select format('%s → %s', c.relname, f.confrelid::regclass), f.conkey[1], format('%s.%s', f.confrelid::regclass, r.attname)
        from pg_constraint f join pg_attribute r on r.attrelid = f.confrelid and r.attnum = f.confkey[1]
        where f.conrelid = c.oid and f.contype = 'f'
      ) key left join pg_attribute a on a.attrelid = c.oid and a.attnum = key.first
    ), '[]') as keys,
    array(
      select concat_ws(' ', policyname, nullif(lower(permissive), 'permissive'),
        (select string_agg(case when role = pg_get_userbyid(c.relowner) then 'owner' else role end, ',') from unnest(roles) role),
        cmd, coalesce(qual, '-'), coalesce(with_check, '-'))
      from pg_policies where schemaname = 'public' and tablename = c.relname
    ) as policies,
    coalesce((
      select jsonb_object_agg(grantee, granted) from (
        select case grantee when 0 then 'PUBLIC' else pg_get_userbyid(grantee) end grantee, array_agg(privilege_type) granted
        from aclexplode(c.relacl) where grantee <> c.relowner group by 1
      ) grants), '{}') as privileges
  from pg_class c
  where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')
    and not exists (select from pg_depend where objid = c.oid and deptype = 'e')
  order by 1`;

const ROUTINES = `
  select proname as name, pg_get_userbyid(proowner) as owner, prosecdef as "securityDefiner",
    coalesce(proconfig::text like '%search_path=%', false) as "hasSearchPath",
    proacl is null or exists (select from aclexplode(proacl) where grantee = 0) as "isPublic"
  from pg_proc p
  where pronamespace = 'public'::regnamespace
    and not exists (select from pg_depend where objid = p.oid and deptype = 'e')
  order by 1`;
