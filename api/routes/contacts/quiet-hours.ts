import { z } from 'zod';
import { wakeAllLines } from '#db/commands/lines/wake-all-lines.ts';
import { setQuietHours, workspacePace } from '#db/queries/accounts/workspaces.ts';
import { lawWithoutTime, QuietHours } from '#domain/sending/quiet-hours.ts';
import { lawName } from '#domain/sending/us-quiet-hours.ts';
import { invalid } from '#api/http/errors.ts';
import { workspaceRoute } from '#api/http/route.ts';

const ResponseBody = z.object({ success: z.literal(true), quietHours: QuietHours });

/** @throws VALIDATION_ERROR if no message to some state could ever be sent. */
export function requireLawfulTime(hours: QuietHours, now: Date): void {
  const without = lawWithoutTime(hours, now);
  if (without !== null) throw invalid('start', `leaves no time that the law of ${lawName(without)} allows`);
}

export const quietHoursRoutes = [
  workspaceRoute({
    id: 'getQuietHours',
    method: 'GET',
    path: '/api/workspace/quiet-hours',
    tag: 'Workspace',
    summary: 'Get the quiet hours of the workspace',
    responses: { 200: ResponseBody },
    async handler({ db }) {
      const { quiet } = await workspacePace(db);
      return { status: 200, body: { success: true, quietHours: quiet.workspace } };
    },
  }),

  workspaceRoute({
    id: 'setQuietHours',
    method: 'PUT',
    path: '/api/workspace/quiet-hours',
    tag: 'Workspace',
    role: 'admin',
    summary: 'Set the quiet hours; an omitted field gets its default',
    description:
      "Messages of the kinds in `appliesTo` are sent between `start` and `end` in the recipient's time zone: the lead's `timezone`, otherwise all zones of the number's area, otherwise the workspace's. A waiting message has `holdReason: \"recipient_quiet_hours\"`. Quiet hours do not apply to a contact who wrote within 24 hours. The change applies to waiting messages at once, except to SMS that quiet hours have postponed already.",
    body: QuietHours,
    responses: { 200: ResponseBody },
    audit: {
      action: 'quiet_hours.updated',
      target: 'workspace',
      changes: ['enabled', 'start', 'end', 'law', 'appliesTo'],
    },
    async handler({ db, body, now }) {
      requireLawfulTime(body, now);
      await setQuietHours(db, body);
      await wakeAllLines(db, now);
      return { status: 200, body: { success: true, quietHours: body } };
    },
  }),
];
