import { z } from 'zod';

/** The first steps of a workspace, in the order in which a user takes them. */
export const SETUP_STEPS = ['line', 'message', 'reply', 'webhook', 'contacts', 'team'] as const;
export type SetupStep = (typeof SETUP_STEPS)[number];

export const Setup = z
  .object({
    steps: z.array(
      z.object({
        step: z.enum(SETUP_STEPS).meta({
          description:
            '`line`: a line is active and connected. `message`: one was delivered, or an email was accepted by its server. `reply`: one was received. `webhook`: one is registered. `contacts`: there is one in a list besides Quick Sends. `team`: it has a second member.',
        }),
        done: z.boolean(),
      }),
    ),
    complete: z.boolean().meta({ description: 'All steps are done.' }),
    dismissed: z.boolean().meta({
      description:
        'The steps are hidden (`setupDismissed` of `PATCH /api/workspace`), or the workspace is older than this feature.',
    }),
  })
  .meta({ id: 'Setup' });
export type Setup = z.infer<typeof Setup>;

/** @param done for each step, whether its result exists. */
export function setupOf(done: Record<SetupStep, boolean>, dismissed: boolean): Setup {
  const steps = SETUP_STEPS.map((step) => ({ step, done: done[step] }));
  return { steps, complete: steps.every((step) => step.done), dismissed };
}
