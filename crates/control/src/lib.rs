//! Control laws as values that you step.
