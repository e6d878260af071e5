import SwaggerUI from 'swagger-ui-dist/swagger-ui-es-bundle.js';
import { useData, withBase } from 'vitepress';
import { defineComponent, h, onMounted, onUnmounted, ref, watchEffect } from 'vue';
import { codeSamplesPlugin } from '../../../api/docs/code-samples-plugin.js';
import 'swagger-ui-dist/swagger-ui.css';
import '../../../api/docs/docs.css';

/** What a server shows at `/docs`. Nothing can be tried out: the site has no server. */
export default defineComponent(() => {
  const element = ref();
  const { isDark } = useData();
  const darkMode = (isOn) => document.documentElement.classList.toggle('dark-mode', isOn);
  watchEffect(() => darkMode(isDark.value));
  onUnmounted(() => darkMode(false));
  onMounted(() => {
    SwaggerUI({
      url: withBase('/openapi.json'),
      domNode: element.value,
      deepLinking: true,
      docExpansion: 'none',
      defaultModelsExpandDepth: 0,
      filter: true,
      supportedSubmitMethods: [],
      validatorUrl: null,
      plugins: [codeSamplesPlugin],
    });
  });
  return () => h('div', { ref: element, class: 'api-reference' });
});
