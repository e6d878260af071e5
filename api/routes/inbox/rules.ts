import { z } from 'zod';
import {
  deleteRule,
  insertRule,
  listRules,
  lockRule,
  presentRule,
  updateRule,
} from '#db/queries/inbox/rules.ts';
import { rehearseRule } from '#db/queries/inbox/rule-dry-run.ts';
import { findSnippets } from '#db/queries/inbox/snippets.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { Id } from '#domain/base/ids.ts';
import {
  ownFieldProblem,
  Rule,
  type RuleAction,
  RuleDryRun,
  RuleDryRunInput,
  RuleInput,
  RulePatch,
} from '#domain/inbox/rule.ts';
import { checkLeadActions } from '#api/routes/campaigns/campaign-checks.ts';
import { ApiError, invalid } from '#api/http/errors.ts';
import { workspaceRoute } from '#api/http/route.ts';

const RuleParams = z.object({ id: Id });
const OneRule = z.object({ success: z.literal(true), rule: Rule });

const ruleNotFound = (): ApiError => new ApiError('NOT_FOUND', 'Rule not found');

/** What rules name has to exist. @throws NOT_FOUND */
async function checkActions(db: TenantDb, actions: readonly RuleAction[] = []): Promise<void> {
  for (const [index, action] of actions.entries()) {
    await checkLeadActions(db, action, `do.${index}`);
    const snippetId = action.reply?.snippetId;
    if (snippetId !== undefined && (await findSnippets(db, [snippetId])).length === 0)
      throw new ApiError('NOT_FOUND', `do.${index}.reply.snippetId: no such snippet in this workspace`);
  }
}

const auditedFields = ['name', 'on'] as const;

export const ruleRoutes = [
  workspaceRoute({
    id: 'listRules',
    method: 'GET',
    path: '/api/rules',
    tag: 'Conversations',
    summary: 'List the rules, in the order in which they run',
    responses: { 200: z.object({ success: z.literal(true), rules: z.array(Rule) }) },
    async handler({ db }) {
      const rules = await listRules(db);
      return { status: 200, body: { success: true, rules: rules.map(presentRule) } };
    },
  }),

  workspaceRoute({
    id: 'createRule',
    method: 'POST',
    path: '/api/rules',
    tag: 'Conversations',
    role: 'admin',
    summary: 'Create a rule: what is done automatically when something happens with a contact',
    description:
      'A rule runs once for each event that triggers it, oldest rule first, within seconds. What a rule does triggers no rule. Its texts are templates, obey pacing, quiet hours and opt-outs, have the `source` `rule`, and do not count as answers. What was done is on the timeline of the lead.',
    idempotent: true,
    adds: 'rules',
    body: RuleInput,
    responses: { 201: OneRule },
    errors: ['NOT_FOUND'],
    audit: {
      action: 'rule.created',
      target: 'rule',
      targets: ({ answer }) => [{ id: answer.rule._id }],
      changes: [...auditedFields],
    },
    async handler({ db, body, now }) {
      await checkActions(db, body.do);
      const rule = presentRule(await insertRule(db, body, now));
      return { status: 201, body: { success: true, rule } };
    },
  }),

  workspaceRoute({
    id: 'dryRunRule',
    method: 'POST',
    path: '/api/rules/dry-run',
    tag: 'Conversations',
    scope: 'read',
    openWhenReadOnly: true,
    heavy: true,
    summary: 'Say what a rule would have done in the last 30 days',
    description:
      'Changes nothing. Conditions are judged by what is known of the contacts now, and by the message that it is about. For `conversation_opened`, only first messages are found; for `tag_added`, only tags that were added since the upgrade to this version.',
    body: RuleDryRunInput,
    responses: { 200: z.object({ success: z.literal(true), dryRun: RuleDryRun }) },
    errors: ['NOT_FOUND'],
    async handler({ db, body, now }) {
      await checkActions(db, body.do);
      return { status: 200, body: { success: true, dryRun: await rehearseRule(db, body, now) } };
    },
  }),

  workspaceRoute({
    id: 'updateRule',
    method: 'PATCH',
    path: '/api/rules/{id}',
    tag: 'Conversations',
    role: 'admin',
    summary: 'Update a rule',
    params: RuleParams,
    body: RulePatch,
    responses: { 200: OneRule },
    errors: ['NOT_FOUND'],
    audit: { action: 'rule.updated', target: 'rule', changes: [...auditedFields] },
    async handler({ db, params, body, now }) {
      await checkActions(db, body.do);
      const stored = await lockRule(db, params.id);
      if (!stored) throw ruleNotFound();
      const before = presentRule(stored);
      // What belongs to another trigger does not stay.
      const isOther = body.on !== undefined && body.on !== before.on;
      const changed = {
        name: body.name ?? before.name,
        on: body.on ?? before.on,
        after: body.after ?? (isOther ? undefined : before.after),
        tags: body.tags ?? (isOther ? undefined : before.tags),
        when: body.when ?? before.when,
        do: body.do ?? before.do,
      };
      const problem = ownFieldProblem(changed);
      if (problem) throw invalid(problem.path, problem.message);
      const row = await updateRule(db, params.id, changed, now);
      return { status: 200, body: { success: true, rule: presentRule(row) } };
    },
  }),

  workspaceRoute({
    id: 'deleteRule',
    method: 'DELETE',
    path: '/api/rules/{id}',
    tag: 'Conversations',
    role: 'admin',
    summary: 'Delete a rule; what it has done stays',
    params: RuleParams,
    responses: { 200: z.object({ success: z.literal(true) }) },
    errors: ['NOT_FOUND'],
    audit: { action: 'rule.deleted', target: 'rule' },
    async handler({ db, params }) {
      if (!(await deleteRule(db, params.id))) throw ruleNotFound();
      return { status: 200, body: { success: true } };
    },
  }),
];
