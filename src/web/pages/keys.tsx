export default () => <p>keys</p>;
