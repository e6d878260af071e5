import { fork } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { dirname, join, parse } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger, type WorkflowBundle } from '@temporalio/worker';
import { failureConverter } from '#providers/payload-codec.ts';
import { cacheBundle, readCachedBundle } from './bundle-cache.ts';

/*
 * Compiles the workflows into a bundle, which it caches next to Node's compiled code (`NODE_COMPILE_CACHE`).
 *
 * Usage: node workers/workflow-bundle.ts [MODULE]
 * MODULE is the absolute path of the module that converts failures.
 */

const WORKFLOWS = fileURLToPath(new URL('../workflows/index.ts', import.meta.url));
/** This file counts as a file of the bundle, because its compiler options affect the bundle. */
const THIS_FILE = fileURLToPath(import.meta.url);

/**
 * The bundle of the workflows: the cached one if its files have not changed, otherwise a new one. The compiler runs in a
 * separate process, because the worker would keep its memory.
 * @param codecKeys `TEMPORAL_CODEC_KEYS`
 */
export async function bundleWorkflows(codecKeys: string | null): Promise<WorkflowBundle> {
  const { failureConverterPath } = failureConverter(codecKeys);
  const file = bundleCacheFile(failureConverterPath);
  const cached = file === null ? null : await readCachedBundle(file, WORKFLOWS);
  if (cached) return cached;
  const child = fork(THIS_FILE, failureConverterPath ? [failureConverterPath] : [], {
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

/** The file of the cached bundle; null if there is no cache. */
export function bundleCacheFile(failureConverterPath?: string): string | null {
  const folder = getCompileCacheDir();
  const name = failureConverterPath === undefined ? 'workflows' : parse(failureConverterPath).name;
  // Node has one folder for each set of flags; those of the compiler and of workers differ.
  return folder === undefined ? null : join(dirname(folder), `${name}.bundle.json`);
}

/** @returns the bundle, and all files from which it was built. */
async function compile(
  failureConverterPath: string | undefined,
): Promise<{ bundle: WorkflowBundle; files: string[] }> {
  let files: string[] = [];
  const bundle = await bundleWorkflowCode({
    workflowsPath: WORKFLOWS,
    // Otherwise each run would evaluate these modules again and keep its own copy. They contain only constants.
    preloadModules: [WORKFLOWS],
    ...(failureConverterPath !== undefined && { failureConverterPath }),
    logger: new DefaultLogger('WARN'),
    webpackConfigHook: (config) => ({
      ...config,
      plugins: [
        ...(config.plugins ?? []),
        (compiler) =>
          compiler.hooks.done.tap('files', ({ compilation }) => {
            // There are folders among them, and the entry point, which exists in memory only.
            files = [THIS_FILE, ...[...compilation.fileDependencies].filter((file) => isFile(file))];
          }),
      ],
    }),
  });
  return { bundle, files };
}

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;

if (import.meta.main) {
  const [failureConverterPath] = process.argv.slice(2);
  const { bundle, files } = await compile(failureConverterPath);
  const file = bundleCacheFile(failureConverterPath);
  // A folder that is not writable only costs time.
  if (file !== null) await cacheBundle(file, bundle, files).catch(() => {});
  process.send?.(bundle, () => process.disconnect());
}
