import { type FragmentSqlToken, sql } from 'slonik';
import { z } from 'zod';
import type { TenantDb } from '#db/connection/transactions.ts';

const COLUMNS: Record<string, FragmentSqlToken> = {
  firstName: sql.fragment`l.first_name`,
  lastName: sql.fragment`l.last_name`,
  companyName: sql.fragment`l.company_name`,
  jobTitle: sql.fragment`l.job_title`,
  notes: sql.fragment`l.notes`,
  email: sql.fragment`l.emails[1]`,
  phone: sql.fragment`l.phones[1]`,
  contactOwnerEmail: sql.fragment`l.contact_owner_email`,
  timezone: sql.fragment`l.timezone`,
};

/** The value of a field in leads `l`, as a template reads it: null for a name that no lead has. */
function valueOf(field: string): FragmentSqlToken {
  const custom = /^customFields\.(.+)$/.exec(field)?.[1];
  if (custom !== undefined) return sql.fragment`l.custom_fields ->> ${custom}`;
  return COLUMNS[field] ?? sql.fragment`null::text`;
}

const EmptyRow = z.object({ field: z.string(), count: z.int() });

/** How many leads have no value in each of the fields; those that all have are left out. @param leads a query for `lead_id`. */
export async function emptyFields(
  db: TenantDb,
  leads: FragmentSqlToken,
  fields: readonly string[],
): Promise<Record<string, number>> {
  if (fields.length === 0) return {};
  const values = fields.map((field) => sql.fragment`(${field}, ${valueOf(field)})`);
  const rows = await db.any(sql.type(EmptyRow)`
    select v.field, count(*)::int
    from (${leads}) a
    join leads l on l.workspace_id = ${db.workspaceId} and l.id = a.lead_id
    cross join lateral (values ${sql.join(values, sql.fragment`, `)}) v (field, value)
    where trim(coalesce(v.value, '')) = ''
    group by v.field order by v.field`);
  return Object.fromEntries(rows.map(({ field, count }) => [field, count]));
}
