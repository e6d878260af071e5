import { type CommonQueryMethods, type Interceptor, sql } from 'slonik';
import { z } from 'zod';

/** The process's database login has privileges that it should not have. */
export class UnrestrictedLoginError extends Error {
  override readonly name = 'UnrestrictedLoginError';
}

const Login = z.object({
  sessionUser: z.string(),
  currentUser: z.string(),
  hasAttributes: z.boolean(),
  isMember: z.boolean(),
  ownsObjects: z.boolean(),
});

/**
 * Refuses the connections of a pool unless they log in as `login` and it has no further privileges: row-level security
 * does not protect against a superuser, an owner, or a login that can become one. Checks once per pool.
 */
export function restrictedLogin(login: string): Interceptor {
  let checked = false;
  return {
    name: 'restricted-login',
    async afterPoolConnection(_, connection) {
      if (!checked) await check(connection, login);
      checked = true;
      return null;
    },
  };
}

async function check(connection: CommonQueryMethods, login: string): Promise<void> {
  const found = await connection.one(sql.type(Login)`
    select session_user "sessionUser", current_user "currentUser",
      rolsuper or rolbypassrls or rolcreaterole or rolcreatedb or rolreplication "hasAttributes",
      exists (select from pg_auth_members where member = r.oid) "isMember",
      exists (select from pg_class where relowner = r.oid) or exists (select from pg_proc where proowner = r.oid)
        or exists (select from pg_namespace where nspowner = r.oid)
        or exists (select from pg_database where datname = current_database() and datdba = r.oid) "ownsObjects"
    from pg_roles r where rolname = session_user`);
  const problem = problemOf(found, login);
  if (problem !== null) {
    throw new UnrestrictedLoginError(
      `the database connection has to log in as ${login}, a role without attributes, memberships and objects of its own; ${problem}`,
    );
  }
}

function problemOf(found: z.infer<typeof Login>, login: string): string | null {
  if (found.sessionUser !== login) return `it logs in as ${found.sessionUser}`;
  if (found.currentUser !== login) return `it acts as ${found.currentUser}`;
  if (found.hasAttributes) return 'this one has SUPERUSER, BYPASSRLS, CREATEROLE, CREATEDB or REPLICATION';
  if (found.isMember) return 'this one is a member of another role';
  if (found.ownsObjects) return 'this one owns objects of the database';
  return null;
}
