import Glibc
import Synchronization

/// Whether this process is a child that was forked off one that coordinates, and has executed nothing since.
enum ForkedChild {
    private static let flag = Atomic(false)
    private static let handler: Void = {
        pthread_atfork(nil, nil) { flag.store(true, ordering: .relaxed) }
    }()

    static func watch() { handler }
    static var isOne: Bool { flag.load(ordering: .relaxed) }
}
