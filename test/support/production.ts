import { type OwnApp, startTestApp } from './app.ts';

/** The settings with which an API or a worker of the tests is in production. */
const PRODUCTION = {
  NODE_ENV: 'production',
  PUBLIC_URL: 'https://messaging.example.com',
  SIMULATOR_URL: '',
  SIMULATOR_SECRET: '',
  AUTH_LOCAL_JWK: '',
  SMTP_URL: '',
  WEBHOOK_ALLOW_PRIVATE: '0',
};

/** Starts the product in production mode, with its own database, which nobody owns. */
export const startProductionApp = (
  environment: Record<string, string> = {},
  options: { worker?: boolean } = {},
): Promise<OwnApp> => startTestApp({ ...options, environment: { ...PRODUCTION, ...environment } });
