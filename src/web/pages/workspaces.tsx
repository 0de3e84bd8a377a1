export default () => <p>workspaces</p>;
