import DefaultTheme from 'vitepress/theme';
import { defineAsyncComponent } from 'vue';
import './style.css';

export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    app.component(
      'ApiReference',
      defineAsyncComponent(() => import('./api-reference.js')),
    );
  },
};
