// A reporter of jest that writes the parts of its JSON report which Allstop reads, beside this file.
// jest's own `--json` can't write the values of a failed comparison if they refer to themselves.
const { writeFileSync } = require('node:fs');
const { join } = require('node:path');

const test = ({ title, status, ancestorTitles, failureMessages }) => ({ title, status, ancestorTitles, failureMessages });

const file = (ran) => ({
  name: ran.testFilePath,
  status: ran.testExecError || ran.numFailingTests > 0 ? 'failed' : 'passed',
  message: ran.failureMessage ?? '',
  assertionResults: ran.testResults.map(test),
});

module.exports = class {
  onRunComplete(_, { testResults }) {
    writeFileSync(join(__dirname, 'report'), JSON.stringify({ testResults: testResults.map(file) }));
  }
};
