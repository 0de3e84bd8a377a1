export default () => <p>session</p>;
