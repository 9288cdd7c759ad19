/// The part of the screen that takes the keys.
public enum ScreenState: Equatable, Sendable {
    /// The list of posts.
    case list
    /// The selected post, from a line on.
    case post(firstLine: Int)
    /// Words to search for are typed.
    case search(TextField)
    /// A post is edited, or a new one is written.
    case form(PostForm)
    /// The name of an account is typed.
    case account(TextField)
    /// A question that `y` affirms.
    case question(Question)
    /// All keys.
    case help

    /// A question before something is removed or replaced.
    public enum Question: Equatable, Sendable {
        case remove(String)
        case wipe
        case republish

        /// The question in words.
        public var text: String {
            switch self {
            case .remove: "Remove this post on all devices?"
            case .wipe: "Delete the container's directory, as rm -r does? No post is lost."
            case .republish: "Write the container again, with all posts of this device?"
            }
        }
    }
}

/// Something that the program does for the screen.
public enum ScreenEffect: Equatable, Sendable {
    /// Show the posts that match these words; empty for all.
    case search(String)
    /// Save an edit, and report it to ``JournalScreen/saved(_:_:)``.
    case apply(PostEdit)
    /// Save the edit of an undo or redo, and report it to ``JournalScreen/stepped(_:_:_:)``.
    case step(UndoStack.Step, PostEdit)
    /// Remove a post; the edit is reported like that of `apply`, and so for the next two.
    case remove(String)
    case setPinned(Bool, String)
    case move(String, by: Int)
    /// Stop the exchange with other devices, or go on with it.
    case setOffline(Bool)
    case signOut
    case signIn(String)
    /// Delete the container's directory.
    case wipe
    /// Write the container again.
    case republish
    case quit
}

/// The size of a screen in characters.
public struct ScreenSize: Equatable, Sendable {
    /// The number of lines.
    public var rows: Int
    /// The number of characters in a line.
    public var columns: Int

    /// Makes a size.
    public init(rows: Int, columns: Int) {
        self.rows = rows
        self.columns = columns
    }
}
