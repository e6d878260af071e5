// Shows `x-codeSamples` of each operation above its responses, one language at a time.
export function codeSamplesPlugin({ React }) {
  const h = React.createElement;

  function CodeSamples({ samples }) {
    const [label, setLabel] = React.useState(readChoice);
    const shown = samples.find((sample) => sample.label === label) ?? samples[0];
    const choose = (next) => {
      setLabel(next);
      // For the operations that are opened later.
      sessionStorage.setItem('code-sample', next);
    };
    return h(
      'div',
      { className: 'code-samples' },
      h('h4', null, 'Code samples'),
      h(
        'div',
        { role: 'tablist', 'aria-label': 'Language' },
        samples.map((sample) =>
          h(
            'button',
            {
              key: sample.label,
              type: 'button',
              role: 'tab',
              'aria-selected': sample === shown,
              onClick: () => choose(sample.label),
            },
            sample.label,
          ),
        ),
      ),
      h(
        'button',
        { type: 'button', className: 'copy', onClick: () => navigator.clipboard.writeText(shown.source) },
        'Copy',
      ),
      h('pre', { tabIndex: 0 }, h('code', null, shown.source)),
    );
  }

  const readChoice = () => sessionStorage.getItem('code-sample') ?? 'curl';

  return {
    wrapComponents: {
      responses: (Responses, { specSelectors }) =>
        function ResponsesWithSamples(props) {
          const { path, method } = props;
          const samples = specSelectors.specJson().getIn(['paths', path, method, 'x-codeSamples']);
          return h('div', null, samples && h(CodeSamples, { samples: samples.toJS() }), h(Responses, props));
        },
    },
  };
}
