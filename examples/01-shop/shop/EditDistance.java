package shop;

/** How many letters must be changed, added or removed to turn one word into another (Levenshtein). */
final class EditDistance {
    private EditDistance() {}

    static int between(String a, String b) {
        Call.DISTANCE.hit();
        int[] row = new int[b.length() + 1];
        for (int j = 0; j < row.length; j++) row[j] = j;
        for (int i = 0; i < a.length(); i++) row = row(b, a.charAt(i), row, i + 1);
        return row[b.length()];
    }

    private static int[] row(String b, char c, int[] above, int first) {
        Call.DISTANCE_ROW.hit();
        int[] row = new int[above.length];
        row[0] = first;
        for (int j = 1; j < row.length; j++) {
            int change = above[j - 1] + (b.charAt(j - 1) == c ? 0 : 1);
            row[j] = Math.min(change, 1 + Math.min(above[j], row[j - 1]));
        }
        return row;
    }
}
