import { z } from 'zod';
import { knownCustomFields } from '#db/queries/accounts/limits.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { unknownFields, unknownFieldText } from '#domain/messages/template-fields.ts';
import { invalidFields } from '#api/http/errors.ts';

/** For whatever stores templates. */
export const Strictness = z.object({
  refuseUnknownFields: z.enum(['true', 'false']).optional().meta({
    description:
      'Refuses templates that the warning `unknown_field` is about, with its suggestions. Default: `false`.',
  }),
});

/**
 * @param templates by their paths in the body.
 * @throws VALIDATION_ERROR if one names what no contact can have.
 */
export async function requireKnownFields(
  db: TenantDb,
  templates: readonly (readonly [path: string, template: string | null | undefined])[],
): Promise<void> {
  const customFields = await knownCustomFields(db);
  const issues = templates.flatMap(([path, template]) =>
    unknownFields(template ?? '', customFields).map((unknown) => ({
      path,
      message: unknownFieldText(unknown),
    })),
  );
  if (issues.length > 0) throw invalidFields(issues);
}
