/// The way up the directories above a root: which of them is watched next, and whether the way must be taken again.
///
/// Each directory above the root is watched for its own end. While the root is missing, the lowest existing one is also
/// watched for new entries, because the next step towards the root appears in it. A directory may come or go between
/// two steps of the climb. The climb therefore looks below the lowest directory after that one is watched, and starts
/// again if it finds something. After the climb, nothing can appear without an event.
///
/// Pure: the runner performs ``step`` and answers it. Depth 0 is the file system's root, depth 1 a directory in it.
struct RootClimb {
    enum Step: Equatable {
        /// Watch the directory at a depth for its own end, and for new entries too.
        case watch(depth: Int, forEntries: Bool)
        /// Look at what stands at a depth.
        case look(depth: Int)
        /// All are watched. `isHeard` tells whether an event tells of everything that leads to the root's return.
        case done(isHeard: Bool)
    }

    /// How watching a directory went.
    enum Watched: Equatable {
        case directory
        /// A directory behind a symbolic link: a new target of the link raises no event.
        case linked
        /// There is no directory.
        case missing
        /// It cannot be watched.
        case refused
    }

    /// The entry in a place where no directory could be watched.
    enum Found: Equatable {
        case nothing
        case directory
        /// A symbolic link that leads nowhere, or to no directory.
        case link
        /// Something else, whose end raises an event.
        case file
        /// Nobody may look.
        case hidden
    }

    /// How often the climb begins again; then the root is looked for now and then instead.
    static let most = 64

    private(set) var step: Step
    /// The depth of the lowest directory that is watched; the one below it leads to the root.
    private(set) var lowest: Int?
    private let isLost: Bool
    private let parent: Int
    private var isHeard = true
    private var rounds = 0
    private var lastMissing: Int?

    /// A climb from the directory that holds the root.
    ///
    /// - Parameters:
    ///   - depth: The root's depth.
    ///   - isLost: Whether the root is not there.
    init(depth: Int, isLost: Bool) {
        self.isLost = isLost
        parent = depth - 1
        step = parent < 0 ? .done(isHeard: false) : .watch(depth: parent, forEntries: isLost)
    }

    /// Takes in how the watch went that ``step`` asks for.
    mutating func watched(_ result: Watched) {
        guard case .watch(let depth, _) = step else { return }
        switch result {
        case .directory, .linked:
            if isLost, result == .linked { isHeard = false }
            let isLowest = lowest == nil
            lowest = lowest ?? depth
            // An entry that could not be watched may have appeared before this watch. Only a look tells.
            if isLost, isLowest, lastMissing == depth + 1 { step = .look(depth: depth + 1) } else { rise(from: depth) }
        case .missing where lowest != nil:
            // It was there a moment ago, for a directory below it is watched.
            begin()
        case .missing:
            lastMissing = depth
            rise(from: depth)
        case .refused:
            isHeard = false
            rise(from: depth)
        }
    }

    /// Takes in what stands where ``step`` asks to look.
    mutating func looked(_ found: Found) {
        guard case .look(let depth) = step else { return }
        switch found {
        case .directory: begin()
        case .link, .hidden:
            isHeard = false
            rise(from: depth - 1)
        case .nothing, .file: rise(from: depth - 1)
        }
    }

    private mutating func begin() {
        rounds += 1
        (lowest, lastMissing, isHeard) = (nil, nil, true)
        step = rounds < Self.most ? .watch(depth: parent, forEntries: isLost) : .done(isHeard: false)
    }

    private mutating func rise(from depth: Int) {
        step = depth == 0 ? .done(isHeard: isHeard && lowest != nil) : .watch(depth: depth - 1, forEntries: isLost && lowest == nil)
    }
}
