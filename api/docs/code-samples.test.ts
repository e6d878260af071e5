import { describe, expect, it } from 'vitest';
import { openApiDocument } from '../http/openapi.ts';
import { routes } from '../routes.ts';
import type { CodeSample } from './code-samples.ts';

type Operations = Record<string, { operationId: string; tags?: string[]; 'x-codeSamples'?: CodeSample[] }>;

const { paths } = openApiDocument(routes) as unknown as { paths: Record<string, Operations> };
const operations = Object.values(paths).flatMap((byMethod) => Object.values(byMethod));
const samplesOf = (id: string): CodeSample[] =>
  operations.find(({ operationId }) => operationId === id)?.['x-codeSamples'] ?? [];
const source = (id: string, label: CodeSample['label']) =>
  samplesOf(id).find((sample) => sample.label === label)?.source ?? '';

describe('code samples', () => {
  it('exist for every endpoint of the API', () => {
    const ofApi = Object.entries(paths).filter(([path]) => path.startsWith('/api/'));
    const missing = ofApi.flatMap(([, byMethod]) =>
      Object.values(byMethod).filter(
        // The clients have nothing for operators.
        ({ tags, ...operation }) =>
          (operation['x-codeSamples']?.length ?? 0) < (tags?.includes('System') ? 1 : 3),
      ),
    );
    expect(missing).toEqual([]);
  });

  it('send bodies that the endpoints accept', () => {
    const refused = routes.flatMap((route) => {
      if (route.caller === 'anyone' || !route.body || !route.path.startsWith('/api/')) return [];
      const [, body] = /-d '(.*)'$/s.exec(source(route.id, 'curl')) ?? [];
      const parsed = route.body.safeParse(JSON.parse((body ?? '{}').replaceAll(String.raw`'\''`, "'")));
      return parsed.success ? [] : [`${route.id}: ${JSON.stringify(parsed.error.issues)}`];
    });
    expect(refused).toEqual([]);
  });

  it('show a call in curl, TypeScript, Python and the command line', () => {
    expect(samplesOf('sendMessage').map(({ label }) => label)).toEqual([
      'curl',
      'TypeScript',
      'Python',
      'CLI',
    ]);
    expect(source('getLinePace', 'curl')).toBe(
      'curl "$LINEPACE_URL/api/lines/ID/pace" \\\n  -H "Authorization: Bearer $LINEPACE_API_KEY"',
    );
    expect(source('getLinePace', 'TypeScript')).toContain("await linepace.lines.getPace({\n  id: 'ID',\n});");
    expect(source('getLinePace', 'Python')).toContain('linepace.lines.get_pace("ID")');
  });
});
