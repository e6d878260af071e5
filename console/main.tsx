import './styles.css';
import { CSPProvider } from '@base-ui/react/csp-provider';
import { i18n } from '@lingui/core';
import { I18nProvider } from '@lingui/react';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { queryClient } from './api/queries.ts';
import { correctLanguage } from './lib/language.ts';
import { activateLocale } from './lib/locale.ts';
import { router } from './router.tsx';

correctLanguage();

const root = document.getElementById('root');
if (!root) throw new Error('index.html has no #root');

// Without a top-level await, which would prevent the pages' chunks from sharing code with this one.
void activateLocale().then(() =>
  createRoot(root).render(
    <StrictMode>
      {/* The content security policy allows style sheets of this server only. */}
      <CSPProvider disableStyleElements>
        <I18nProvider i18n={i18n}>
          <QueryClientProvider client={queryClient}>
            <RouterProvider router={router} />
          </QueryClientProvider>
        </I18nProvider>
      </CSPProvider>
    </StrictMode>,
  ),
);
