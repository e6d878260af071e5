import { i18n } from '@lingui/core';

// Without a catalog, texts are those of the source: English.
i18n.loadAndActivate({ locale: 'en', messages: {} });
