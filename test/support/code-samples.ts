import type { CodeSample } from '#api/docs/code-samples.ts';
import { openApiDocument } from '#api/http/openapi.ts';
import { routes } from '#api/routes.ts';

type Operations = Record<string, { tags: string[]; 'x-codeSamples'?: CodeSample[] }>;

/** The samples of the reference page in one language, of every endpoint that the SDKs offer. */
export function codeSamples(label: CodeSample['label']): string[] {
  const { paths } = openApiDocument(routes) as unknown as { paths: Record<string, Operations> };
  return Object.values(paths)
    .flatMap((operations) => Object.values(operations))
    .filter(({ tags }) => !tags.includes('Console'))
    .flatMap((operation) => operation['x-codeSamples'] ?? [])
    .filter((sample) => sample.label === label)
    .map(({ source }) => source);
}
