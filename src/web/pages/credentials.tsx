export default () => <p>credentials</p>;
