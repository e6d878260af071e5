import { z } from 'zod';
import { agencyOfUser } from '#db/queries/accounts/credentials.ts';
import { wakeAllLines } from '#db/commands/lines/wake-all-lines.ts';
import { dismissSetup } from '#db/queries/accounts/setup.ts';
import { workspacesOfSession } from '#db/queries/accounts/user-sessions.ts';
import {
  setReputationPolicy,
  setWorkspaceProfile,
  workspaceProfile,
  workspaceReputationPolicy,
} from '#db/queries/accounts/workspaces.ts';
import { type TenantDb, withAuth, withSystemShare, withTenant } from '#db/connection/transactions.ts';
import { modelBudget, setTokensPerDay } from '#db/queries/drafts/ai-usage.ts';
import { personRules, setContactBusy } from '#db/queries/sending/person-holds.ts';
import { releaseAllLater } from '#db/commands/sending/person-releases.ts';
import { SubAccountInput } from '#domain/accounts/agency.ts';
import { TimeZone } from '#domain/base/time-zone.ts';
import { isExhausted } from '#domain/drafts/ai-budget.ts';
import { currentTime } from '#domain/base/clock.ts';
import { ensureTwin, findTwin, renameTwin } from '#db/commands/test-mode/twin.ts';
import { BillingMode, SubscriptionStatus } from '#domain/billing/entitlement.ts';
import { isId, WorkspaceId } from '#domain/base/ids.ts';
import { ReputationPolicy } from '#domain/lines/reputation.ts';
import { Mode, modeOf } from '#domain/test-mode/test-mode.ts';
import { operationsFor } from '#api/auth/operators.ts';
import { SESSION_HEADER } from '#api/auth/user-sessions.ts';
import { workspaceRoute } from '#api/http/route.ts';

const CallerRecord = z
  .object({
    type: z.enum(['key', 'user']),
    id: z.string().nullable(),
    name: z.string().nullable(),
    role: z.string().nullable().meta({ description: 'The role in the session; null for a key.' }),
  })
  .meta({ id: 'Caller' });

const WorkspaceRecord = z
  .object({
    _id: WorkspaceId,
    name: z.string(),
    timezone: z.string(),
    country: z.string(),
    billingMode: BillingMode.meta({ description: '`none`: no plan is needed, and nothing is paid for.' }),
    subscriptionStatus: SubscriptionStatus,
    suspended: z.boolean().meta({
      description:
        'The operator of the installation has suspended it: nothing is sent and nothing can be changed.',
    }),
    reputationPolicy: ReputationPolicy.meta({ description: 'The policy of lines without their own.' }),
    aiTokensPerDay: z.int().meta({
      description: 'How many tokens the language model may use a day, in the time zone of the workspace.',
    }),
    aiTokensUsedToday: z.int(),
    contactBusy: z.boolean().meta({
      description:
        'Whether campaigns write nothing to a contact with whom a member writes: for 24 hours after a message of a member, unless the conversation is closed.',
    }),
    aiBudgetExhausted: z
      .boolean()
      .meta({ description: 'Whether they are used up: until tomorrow, the model writes nothing.' }),
    mode: Mode,
    liveWorkspaceId: WorkspaceId.nullable().meta({
      description: 'The workspace whose twin for tests this is; null: it is live.',
    }),
    testWorkspaceId: WorkspaceId.nullable().meta({
      description: 'Its twin for tests; null in test mode, or until it is first used.',
    }),
  })
  .meta({ id: 'Workspace' });

const WorkspacePatch = z
  .object({
    name: SubAccountInput.shape.name,
    timezone: TimeZone.meta({
      description:
        'Days and caps follow it from the moment of the change, and so do windows without a zone of their own, of what is planned from then on.',
    }),
    reputationPolicy: ReputationPolicy,
    aiTokensPerDay: z.int().min(0).max(1_000_000_000),
    contactBusy: z.boolean(),
    setupDismissed: z
      .boolean()
      .meta({ description: 'Whether the console hides the first steps (`GET /api/workspace/setup`).' }),
  })
  .partial()
  .meta({ id: 'WorkspacePatch' });

export const workspaceRoutes = [
  workspaceRoute({
    id: 'getWorkspace',
    method: 'GET',
    path: '/api/workspace',
    tag: 'Workspace',
    transaction: false,
    summary: 'Get the workspace of the credential, and who is calling',
    responses: {
      200: z.object({
        success: z.literal(true),
        workspace: WorkspaceRecord,
        caller: CallerRecord,
        agency: z
          .object({ _id: z.string(), role: z.enum(['owner', 'co_admin']), billingMode: BillingMode })
          .nullable()
          .meta({ description: 'The agency of the signed-in user; null for a key.' }),
        workspaces: z
          .array(z.object({ _id: WorkspaceId, name: z.string() }))
          .meta({ description: 'The workspaces that a console session can open with `X-Workspace-Id`.' }),
        operations: z
          .object({
            workflowsUrl: z.string().nullable().meta({
              description:
                'What precedes the id of a workflow in the address of its page in the Temporal UI; null without `TEMPORAL_UI_ORIGIN`.',
            }),
          })
          .nullable()
          .meta({ description: 'For users who operate the installation (`OPERATORS`); null for others.' }),
      }),
    },
    async handler({ caller, pools, header, config }) {
      const { id, country, billingMode, subscriptionStatus, suspended, liveWorkspaceId } = caller.workspace;
      const { userId, via, role } = caller;
      const sessionId = header(SESSION_HEADER);
      const [profile, testWorkspaceId, member, workspaces] = await Promise.all([
        withTenant(pools, id, profileOf),
        withAuth(pools, id, `twin of ${id}`, (db) => findTwin(db, id)),
        via === 'session' && userId !== null
          ? withAuth(pools, userId, `agency of ${userId}`, (db) => agencyOfUser(db, userId, null))
          : null,
        userId !== null && isId(sessionId)
          ? withAuth(pools, userId, `workspaces of ${sessionId}`, (db) =>
              workspacesOfSession(db, sessionId, userId),
            )
          : [],
      ]);
      const { type, id: callerId, name } = caller.actor;
      if (type !== 'key' && type !== 'user') throw new Error(`a request by ${type}`);
      const agency = member?.agency.isActive
        ? { _id: member.agency.id, role: member.role ?? 'co_admin', billingMode: member.agency.billingMode }
        : null;
      return {
        status: 200,
        body: {
          success: true,
          workspace: {
            _id: id,
            ...profile,
            country,
            billingMode,
            subscriptionStatus,
            suspended,
            mode: modeOf(caller.workspace),
            liveWorkspaceId,
            testWorkspaceId,
          },
          caller: { type, id: callerId, name, role },
          agency,
          workspaces: workspaces.map((place) => ({ _id: place.id, name: place.name })),
          operations: operationsFor(caller, config),
        },
      };
    },
  }),

  ...(
    [
      ['updateWorkspace', 'PATCH'],
      ['putWorkspace', 'PUT'],
    ] as const
  ).map(([routeId, method]) =>
    workspaceRoute({
      id: routeId,
      method,
      path: '/api/workspace',
      tag: 'Workspace',
      summary:
        'Update the workspace: its name and time zone, what its lines do about their reputation, what the language model may cost a day, whether campaigns wait while a member writes with a contact, and whether the first steps are hidden',
      role: 'admin',
      body: WorkspacePatch,
      responses: {
        200: z.object({
          success: z.literal(true),
          workspace: WorkspaceRecord.omit({ testWorkspaceId: true }),
        }),
      },
      audit: {
        action: 'workspace.updated',
        target: 'workspace',
        changes: ['name', 'timezone', 'reputationPolicy', 'aiTokensPerDay', 'contactBusy', 'setupDismissed'],
      },
      async handler({ db, caller, body, now }) {
        await setWorkspaceProfile(db, body);
        if (body.name !== undefined) await renameTwin(db, body.name);
        if (body.reputationPolicy !== undefined) await setReputationPolicy(db, body.reputationPolicy);
        // The pacers sleep until times computed with the old values.
        if (body.timezone !== undefined || body.reputationPolicy !== undefined) await wakeAllLines(db, now);
        if (body.aiTokensPerDay !== undefined) await setTokensPerDay(db, body.aiTokensPerDay);
        if (body.contactBusy !== undefined) {
          await setContactBusy(db, body.contactBusy);
          if (!body.contactBusy) await releaseAllLater(db, now);
        }
        if (body.setupDismissed !== undefined) await dismissSetup(db, body.setupDismissed, now);
        const { id, country, billingMode, subscriptionStatus, suspended, liveWorkspaceId } = caller.workspace;
        const mode = modeOf(caller.workspace);
        const workspace = {
          _id: id,
          ...(await profileOf(db)),
          country,
          billingMode,
          subscriptionStatus,
          suspended,
          mode,
          liveWorkspaceId,
        };
        return { status: 200, body: { success: true, workspace } };
      },
    }),
  ),

  workspaceRoute({
    id: 'openTestMode',
    method: 'POST',
    path: '/api/workspace/test-mode',
    tag: 'Workspace',
    credential: 'session',
    role: 'admin',
    mode: 'live',
    transaction: false,
    summary: 'Get the twin of the workspace for tests; the first call creates it',
    description: 'A session acts in the twin with its id in `X-Workspace-Id`.',
    responses: { 200: z.object({ success: z.literal(true), workspaceId: WorkspaceId }) },
    async handler({ caller, pools }) {
      const { id } = caller.workspace;
      const workspaceId = await withSystemShare(pools, id, (db) => ensureTwin(db, id));
      return { status: 200, body: { success: true, workspaceId } };
    },
  }),
];

async function profileOf(db: TenantDb) {
  const budget = await modelBudget(db, currentTime());
  return {
    ...(await workspaceProfile(db)),
    reputationPolicy: await workspaceReputationPolicy(db),
    aiTokensPerDay: budget.perDay,
    aiTokensUsedToday: budget.used,
    aiBudgetExhausted: isExhausted(budget),
    contactBusy: (await personRules(db)).contactBusy,
  };
}
