import DefaultTheme from 'vitepress/theme';
import { type App, defineAsyncComponent } from 'vue';
import './style.css';

export default {
  extends: DefaultTheme,
  enhanceApp({ app }: { app: App }): void {
    app.component(
      'ApiReference',
      defineAsyncComponent(() => import('./api-reference.ts')),
    );
  },
};
