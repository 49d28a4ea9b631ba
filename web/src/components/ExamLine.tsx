/** What the exam says of the judge whose numbers stand here; nothing of a person, and where nobody has judged. */
export function ExamLine({ exam, className = "" }: { exam: string | null; className?: string }) {
  if (exam === null) return null;
  return (
    <p className={`label text-sm text-soft ${className}`}>
      <bdi>{exam}</bdi>
    </p>
  );
}
