export default () => <p>usage</p>;
