import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger, type WorkflowBundle } from '@temporalio/worker';
import { failureConverter } from '#providers/payload-codec.ts';

/**
 * Bundles the workflows, once for all workers of a process. The compiler runs in a process of its own, because its memory
 * would stay with the worker.
 * @param codecKeys `TEMPORAL_CODEC_KEYS`
 */
export async function bundleWorkflows(codecKeys: string | null): Promise<WorkflowBundle> {
  const child = fork(fileURLToPath(import.meta.url), [], {
    env: { ...process.env, TEMPORAL_CODEC_KEYS: codecKeys ?? '' },
    execArgv: [],
  });
  const [bundle] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => {
      throw new Error(`bundling the workflows ended with ${String(code)}`);
    }),
  ])) as [WorkflowBundle];
  return bundle;
}

if (import.meta.main) {
  const workflowsPath = fileURLToPath(new URL('../workflows/index.ts', import.meta.url));
  const bundle = await bundleWorkflowCode({
    workflowsPath,
    // Otherwise each run evaluates these modules anew and keeps its own copy. They hold constants only.
    preloadModules: [workflowsPath],
    ...failureConverter(process.env['TEMPORAL_CODEC_KEYS'] || null),
    logger: new DefaultLogger('WARN'),
  });
  process.send?.(bundle, () => process.disconnect());
}
