import { z } from 'zod';
import { changeEmailPreferences, findEmailPreferences } from '#db/queries/events/email-preferences.ts';
import { EmailPreferences, EmailPreferencesPatch } from '#domain/events/email-preferences.ts';
import { workspaceRoute } from '#api/http/route.ts';

const ResponseBody = z.object({ success: z.literal(true), preferences: EmailPreferences });

export const emailPreferenceRoutes = [
  workspaceRoute({
    id: 'getEmailPreferences',
    method: 'GET',
    path: '/api/email-preferences',
    tag: 'Email preferences',
    summary: 'Get the email preferences of the workspace',
    responses: { 200: ResponseBody },
    async handler({ db }) {
      return { status: 200, body: { success: true, preferences: await findEmailPreferences(db) } };
    },
  }),

  workspaceRoute({
    id: 'updateEmailPreferences',
    method: 'POST',
    path: '/api/email-preferences',
    tag: 'Email preferences',
    summary: 'Update email preferences; omitted fields do not change',
    body: z.object({ preferences: EmailPreferencesPatch }).meta({ id: 'EmailPreferencesInput' }),
    responses: { 200: ResponseBody },
    audit: { action: 'email_preferences.updated', target: 'workspace', changes: ['preferences'] },
    async handler({ db, body }) {
      return {
        status: 200,
        body: { success: true, preferences: await changeEmailPreferences(db, body.preferences) },
      };
    },
  }),
];
