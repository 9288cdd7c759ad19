import Glibc
import Synchronization

/// Detects that this process is a child forked from a coordinating process, and has not executed a program since.
enum ForkedChild {
    private static let flag = Atomic(false)
    private static let handler: Void = {
        pthread_atfork(nil, nil) { flag.store(true, ordering: .relaxed) }
    }()

    static func watch() { handler }
    static var isOne: Bool { flag.load(ordering: .relaxed) }
}
