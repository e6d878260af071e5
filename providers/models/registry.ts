import type { Config } from '#domain/base/config.ts';
import type { Model } from './model.ts';
import { openAiModel } from './openai.ts';
import { SIMULATED_MODEL, simulatedModel } from './simulated.ts';

/** The configured model, else the simulated one; null if there is neither. */
export function createModel({ llm, simulator }: Pick<Config, 'llm' | 'simulator'>): Model | null {
  const { timeoutMs } = llm;
  if (llm.endpoint) return openAiModel({ ...llm.endpoint, timeoutMs });
  if (!simulator) return null;
  return openAiModel({
    baseUrl: `${simulator.url}/model/v1`,
    apiKey: simulator.secret,
    model: SIMULATED_MODEL,
    timeoutMs,
    caFile: null,
  });
}

/** The model of test mode: a simulated one, which costs nothing, unless the operator pays for it (`TEST_MODE_MODEL`). */
export const createTestModel = (config: Pick<Config, 'llm' | 'simulator'>): Model | null =>
  config.llm.inTestMode ? createModel(config) : simulatedModel();
