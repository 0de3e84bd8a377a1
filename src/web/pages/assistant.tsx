export default () => <p>assistant</p>;
