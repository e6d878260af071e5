import { z } from 'zod';
import { settleSetAside } from '#db/commands/operations/set-aside.ts';
import { listSetAside } from '#db/queries/operations/set-aside.ts';
import { systemDb } from '#db/connection/transactions.ts';
import { Id } from '#domain/base/ids.ts';
import { SetAside } from '#domain/base/set-aside.ts';
import { endSetAside } from '#providers/failing-tasks.ts';
import { requireOperator } from '#api/auth/operators.ts';
import { ApiError, type ErrorCode } from '#api/http/errors.ts';
import { type PublicRoute, publicRoute } from '#api/http/route.ts';
import type { Services } from '#api/services.ts';

const MAX_LISTED = 1000;
const ById = z.object({ id: Id });

interface OperatorRoute<
  M extends 'GET' | 'POST',
  U extends string,
  P extends z.ZodType,
  R extends z.ZodType,
> {
  id: string;
  method: M;
  path: U;
  summary: string;
  params?: P;
  response: R;
  errors?: readonly ErrorCode[];
  answer(params: unknown, services: Services & { userId: string }): Promise<z.input<R>>;
}

/** An endpoint for the users in `OPERATORS`, who may be in no workspace. The types are for the console's client. */
const operatorRoute = <
  R extends z.ZodType,
  const M extends 'GET' | 'POST',
  const U extends string,
  P extends z.ZodType = never,
>({
  method,
  path,
  params,
  response,
  errors = [],
  answer,
  ...described
}: OperatorRoute<M, U, P, R>): Omit<PublicRoute, 'query' | 'body'> & {
  method: M;
  path: U;
  params?: P | undefined;
  responses: { 200: R };
} => ({
  ...publicRoute({
    ...described,
    method,
    path,
    tag: 'System',
    description: 'Requires the session of a user in `OPERATORS`.',
    contentTypes: { 200: 'application/json' },
    schemas: { 200: response },
    errors: ['UNAUTHORIZED', 'SESSION_REQUIRED', 'OPERATOR_REQUIRED', ...errors],
    async respond(context, services) {
      const userId = await requireOperator(context, services, services.config.operators);
      context.set('Cache-Control', 'no-store');
      context.body = await answer(context['params'], { ...services, userId });
    },
  }),
  method,
  path,
  params,
  responses: { 200: response },
});

const settling = <const A extends 'retry' | 'drop'>(action: A, summary: string) =>
  operatorRoute({
    id: `${action}SetAside`,
    method: 'POST',
    path: `/api/operations/set-aside/{id}/${action}`,
    summary,
    params: ById,
    response: z.object({ success: z.literal(true), workflowId: z.string() }),
    errors: ['NOT_FOUND'],
    async answer(params, { userId, pools, temporal }) {
      const { data: known } = ById.safeParse(params);
      const actor = { type: 'operator', id: userId, name: null } as const;
      const work = known && (await settleSetAside(pools, known.id, action, { actor, channel: 'session' }));
      if (!work) throw new ApiError('NOT_FOUND', 'There is nothing set aside with this id');
      if (work.endsRun) await endSetAside(temporal, work, action);
      return { success: true as const, workflowId: work.workflowId };
    },
  });

/** For the people who operate the installation, whatever workspace they are in. */
export const operationsRoutes = [
  operatorRoute({
    id: 'listSetAside',
    method: 'GET',
    path: '/api/operations/set-aside',
    summary: 'List the work that always fails and is set aside, of all workspaces',
    response: z.object({ success: z.literal(true), items: z.array(SetAside) }),
    async answer(_params, { pools }) {
      const rows = await listSetAside(systemDb(pools), MAX_LISTED);
      const items = rows.map(({ firstFailedAt, lastFailedAt, setAsideAt, ...row }) => ({
        ...row,
        firstFailedAt: firstFailedAt.toISOString(),
        lastFailedAt: lastFailedAt.toISOString(),
        setAsideAt: (setAsideAt ?? lastFailedAt).toISOString(),
      }));
      return { success: true as const, items };
    },
  }),
  settling('retry', 'Have work that is set aside tried again at once'),
  settling(
    'drop',
    'Give up work that is set aside: a draft is discarded, a message fails, other workflows rest',
  ),
];
